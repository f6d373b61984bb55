"""Steps without a model: rules for Chinese and English in its place."""
