"""The ground floor: records, answers, checks and arithmetic that every room may use."""
