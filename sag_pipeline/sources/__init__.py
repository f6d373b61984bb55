"""What sources hold: listed, decoded and converted to text, without a store."""
