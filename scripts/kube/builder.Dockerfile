# The builder of Regent's image where no registry is at hand: this clone's Node and the machine's npm, on the base. Nothing of it gets into Regent's image.
ARG BASE
FROM ${BASE}
ARG REGISTRY
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY certificates.pem /etc/ssl/certs/ca-certificates.crt
ENV npm_config_registry=${REGISTRY} npm_config_cafile=/etc/ssl/certs/ca-certificates.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && npm --version
