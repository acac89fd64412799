"""What a block of code holds in memory, told by the allocator."""
