# The command and nothing else: there is no shell in this image.
#
#	make release
#	docker build -t redlock .
#	docker run --rm redlock doctor --masters 10.0.0.1,10.0.0.2,10.0.0.3
FROM scratch
ARG TARGETARCH=amd64
COPY out/redlock-linux-${TARGETARCH} /redlock
USER 65532:65532
ENTRYPOINT ["/redlock"]
