"""Effects of heads on outputs: ablation, head importance and minimal pairs."""
