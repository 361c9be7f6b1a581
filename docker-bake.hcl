# `docker buildx bake` builds both images for both processors.

group "default" {
  targets = ["hashrange", "hashrange-dynamodb-local"]
}

target "hashrange" {
  platforms = ["linux/amd64", "linux/arm64"]
  tags      = ["hashrange"]
}

target "hashrange-dynamodb-local" {
  inherits = ["hashrange"]
  target   = "dynamodb-local"
  tags     = ["hashrange-dynamodb-local"]
}
