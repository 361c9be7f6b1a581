"""What all operations share: parsing request bodies, checking inputs, and building responses."""
