"""MirrorMaker 2, unchanged, between two real clusters, through a gateway at either or at both."""
