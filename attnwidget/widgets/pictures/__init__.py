"""What each widget shows now, drawn without a page: figure, caption and table."""
