"""Running an open store on a connection."""
