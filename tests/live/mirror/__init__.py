"""MirrorMaker 2, unchanged, between two real clusters, through a gateway at one or both."""
