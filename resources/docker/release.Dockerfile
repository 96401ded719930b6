# As Dockerfile, around a binary that is built already: goreleaser puts it into the context, by platform.
FROM alpine:3 AS certificates
RUN apk add --no-cache ca-certificates

FROM scratch
ARG TARGETPLATFORM
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY ${TARGETPLATFORM}/benthos-doris /benthos-doris
USER 65532:65532
EXPOSE 4195
ENTRYPOINT ["/benthos-doris"]
