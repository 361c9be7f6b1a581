"""What all operations share: parsing bodies, checking inputs, members of answers."""
