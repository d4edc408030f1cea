"""Studies of many inputs. Each study streams segments through a model, and returns a Result."""
