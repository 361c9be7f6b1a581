# The server in a container: docs/how-to/run-in-a-container.md shows how to build and run it.
# No compiler is needed: every dependency comes as a wheel.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
# No version is pinned, because what is installed is this folder.
# hadolint ignore=DL3013
RUN python -m venv --without-pip /opt/hashrange \
    && pip --python /opt/hashrange/bin/python install --no-cache-dir '.[metrics]'

FROM python:3.13-slim AS base
COPY --from=build /opt/hashrange /opt/hashrange
RUN install --directory --owner=10001 --group=10001 --mode=700 /data
USER 10001:10001
WORKDIR /data

# In place of amazon/dynamodb-local: `docker build --target dynamodb-local`. Its `java` is a shim that
# takes the options of DynamoDB Local. Like that image, it is for tests: it asks nobody for keys.
FROM base AS dynamodb-local
USER 0:0
RUN printf '#!/bin/sh\nexec /opt/hashrange/bin/python -m hashrange.tools.dynamodb_local "$@"\n' \
    > /usr/local/bin/java \
    && chmod 755 /usr/local/bin/java \
    && install --directory --owner=10001 --group=10001 --mode=700 /home/dynamodblocal
USER 10001:10001
WORKDIR /home/dynamodblocal
ENV PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
ENTRYPOINT ["java"]
CMD ["-jar", "DynamoDBLocal.jar", "-inMemory"]

FROM base
# There is no VOLUME: it would make an unnamed volume for everybody who forgets to mount one, and
# `docker run --rm` would delete it with the data. Without one, the server warns.
ENV PATH=/opt/hashrange/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HASHRANGE_VOLUME=/data \
    HASHRANGE_DB=/data/hashrange.db \
    HASHRANGE_HOST=0.0.0.0 \
    HASHRANGE_ADMIN_PORT=9000
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=7s --start-period=5s \
    CMD ["hashrange", "ping", "http://127.0.0.1:9000/readyz"]
ENTRYPOINT ["hashrange"]
CMD ["serve"]
