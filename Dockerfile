# The operator's image: one static program and nothing else.
#
#   docker build --tag trainyard:0.1.0 .
#   trainyard install --image trainyard:0.1.0
#
# There are no certificates of public authorities in it: a pod talks to its API server alone, whose authority comes with
# the pod's service account. There is no shell, no package and no user database either: 65532 needs no name.

FROM rust:1.95.0-slim-bookworm AS build
# What the image has, whatever rust-toolchain.toml would install beside it.
ENV RUSTUP_TOOLCHAIN=1.95.0
ARG TARGETARCH=amd64
WORKDIR /src
COPY . .
# With the target named, the flags are for our program and not for build scripts, which cannot be linked so.
RUN set -eu; \
    case "$TARGETARCH" in \
      amd64) target=x86_64-unknown-linux-gnu ;; \
      arm64) target=aarch64-unknown-linux-gnu ;; \
      *) echo "no image for $TARGETARCH" >&2; exit 1 ;; \
    esac; \
    RUSTFLAGS="-C target-feature=+crt-static" \
      cargo build --locked --release --package trainyard --target "$target"; \
    install -D --mode 0755 "target/$target/release/trainyard" /out/trainyard

FROM scratch
LABEL org.opencontainers.image.title="Trainyard" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/trainyard /trainyard
USER 65532:65532
ENTRYPOINT ["/trainyard"]
CMD ["operator"]
