"""What policies are asked about topics that exist, and about what changes them (KIP-108)."""
