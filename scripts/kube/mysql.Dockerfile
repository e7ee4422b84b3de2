# A MySQL image of Debian's packages where no registry is at hand: mysqld, mysql and mysqlbinlog, for any user. What the packages come from is this machine's affair
# and stays in no layer. A mirror may be a frozen copy whose date has lapsed; its packages are still signed.
ARG BASE
FROM ${BASE}
ARG PACKAGES
RUN --mount=type=secret,id=sources,target=/etc/apt/sources.list.d/machine.list \
  --mount=type=secret,id=keyring,target=/etc/apt/keyrings/machine.gpg \
  --mount=type=secret,id=certificates,target=/etc/ssl/certs/ca-certificates.crt \
  apt-get update -q -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any \
  && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends -o APT::Sandbox::User=root ${PACKAGES} \
  && apt-get clean && rm -rf /var/lib/apt/lists /var/log/* /usr/share/doc /usr/share/man /usr/share/locale
USER 65532:65532
CMD ["mysqld"]
