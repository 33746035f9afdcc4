"""What a text says between the lines: emotions, intents, empathy, sentiment and topics, with calibrated probabilities."""
