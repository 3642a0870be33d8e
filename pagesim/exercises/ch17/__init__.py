"""The museum of surprises."""
