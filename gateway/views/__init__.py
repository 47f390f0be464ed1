"""What one client sees and may do: names, their spelling, access."""
