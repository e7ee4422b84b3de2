# Regent's image: this repository's code with its production packages, Node 24 among them. It is the manager, the agent, the router, and what a pod's launcher is copied from.
#   docker build --tag regent:0.1.0 .
# Where no registry is at hand: npm run kube -- images.
ARG BUILDER=node:24.21.0-trixie-slim
ARG BASE=debian:13.1-slim

FROM ${BUILDER} AS build
WORKDIR /packages
COPY package.json package-lock.json ./
# A third of Node's package are headers, which nothing here compiles against.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
  npm ci --omit=dev --include=optional --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node-linux-*/include node_modules/node-linux-*/share && chmod -R a+rX,go-w node_modules
WORKDIR /regent
COPY . .
# A clone may have been made under any umask.
RUN chmod -R a+rX,go-w .

FROM ${BASE}
# What a router leads. A base that has it already is left as it is.
RUN command -v haproxy >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends haproxy && rm -rf /var/lib/apt/lists/*; }
COPY --from=build /packages/node_modules /opt/regent/node_modules
COPY --from=build /regent /opt/regent
# Node finds what it compiled by path, content and user.
ENV NODE_COMPILE_CACHE=/opt/regent/compiled
RUN install -d -m 777 "$NODE_COMPILE_CACHE" \
  && setpriv --reuid 65532 --regid 65532 --clear-groups sh /opt/regent/scripts/node24 /opt/regent/scripts/compile.ts \
  && chown -R 0:0 "$NODE_COMPILE_CACHE" && chmod -R a+rX,go-w "$NODE_COMPILE_CACHE"
USER 65532:65532
RUN ["/opt/regent/bin/regent", "--help"]
ENTRYPOINT ["/opt/regent/bin/regent"]
