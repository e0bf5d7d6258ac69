# The controller's image: one static binary and the certificates of the usual authorities, by which providers of metrics
# are trusted over https. No shell, no package, no root.
#
#   docker build --tag windlass:0.1.0 .
#   docker buildx build --platform linux/amd64,linux/arm64 --tag windlass:0.1.0 .
#
# The compiler runs on the machine that builds, whatever the image is for. Clang compiles the C code of ring for any
# target; Rust brings its own linker, and musl with the targets.
ARG RUST_VERSION=1.95

FROM --platform=$BUILDPLATFORM rust:${RUST_VERSION}-slim-bookworm AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates clang \
 && rm -rf /var/lib/apt/lists/*
ENV CC_x86_64_unknown_linux_musl=clang \
    CC_aarch64_unknown_linux_musl=clang \
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
ARG TARGETARCH
RUN case "$TARGETARCH" in \
      amd64) echo x86_64-unknown-linux-musl ;; \
      arm64) echo aarch64-unknown-linux-musl ;; \
      *) echo "no build for $TARGETARCH" >&2; exit 1 ;; \
    esac > /target \
 && rustup target add "$(cat /target)"
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target,id=windlass-$TARGETARCH \
    cargo build --release --locked --package windlass --target "$(cat /target)" \
 && install -D "target/$(cat /target)/release/windlass" /image/windlass

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Windlass" \
      org.opencontainers.image.description="Progressive delivery for the Kubernetes workloads that hold data" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/windlass /windlass
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/windlass"]
CMD ["controller"]
