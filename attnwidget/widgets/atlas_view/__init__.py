"""AtlasView: functions of a model's heads, with the evidence."""
