"""Change of the loss without a head, at the tokens to which the head's behavior applies."""
