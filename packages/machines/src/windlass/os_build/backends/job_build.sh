#!/bin/sh
# Builds the image of one build and pushes it, in the Pod of a Job.
#
# The end of the log, or the digest of the pushed image, goes to the termination message. The exit code tells the Job
# whether another attempt may help (windlass.os_build.backends.job_state). Its paths are in the environment; those of
# what not every build has may be missing: CONTAINERS, and ENTITLEMENT, REPOSITORIES and PACKAGE_KEYS for RUN steps.
# With FILL, it only fills the volume CACHE with the images BASES (job_bases.sh).
#
#   65 building failed, 66 pushing failed: it would fail again
#   67 one of them took longer than BUILD_SECONDS, PUSH_SECONDS
#   75 building failed, 76 pushing failed: a registry or a disk was in the way
set -u

: "${CONTEXT:?}" "${PULL_SECRET:?}" "${TRUST:?}" "${WORK:?}" "${BUILD_SECONDS:?}"
if [ -n "${FILL:-}" ]; then
    WORK=$WORK/bases
else
    : "${IMAGE:?}" "${MESSAGE:?}" "${PUSH_SECRET:?}" "${PUSH_SECONDS:?}"
fi
log=$WORK/log

TRANSIENT='connection re(fused|set)|broken pipe|use of closed network connection|i/o timeout'
TRANSIENT="$TRANSIENT|no such host|server misbehaving"
TRANSIENT="$TRANSIENT|temporary failure in name resolution|(network is|host) unreachable|no route to host"
TRANSIENT="$TRANSIENT|timeout exceeded|(handshake|request|headers\)) ?timeout|deadline exceeded|too ?many ?requests"
TRANSIENT="$TRANSIENT|(^|[^a-z0-9.])(EOF|408|429|5[0-9][0-9])([^a-z0-9.]|$)|service unavailable"
TRANSIENT="$TRANSIENT|proxyconnect|proxy authentication required|bad gateway|gateway time-?out|/\": forbidden"
TRANSIENT="$TRANSIENT|stream error: stream ID|http2: (client|server|transport)|blob (upload )?unknown"
TRANSIENT="$TRANSIENT|no space left on device|disk quota exceeded"

# The Secret in folder $1 as an authfile: of type dockerconfigjson as it is, of type dockercfg wrapped.
authfile() {
    if [ -s "$1/.dockerconfigjson" ]; then
        cat "$1/.dockerconfigjson"
    elif grep -q '"auths"' "$1/.dockercfg"; then
        cat "$1/.dockercfg"
    else
        printf '{"auths":'
        cat "$1/.dockercfg"
        printf '}'
    fi
}

# End the script after $1 seconds.
limit() {
    seconds=0
    while [ "$seconds" -lt "$1" ]; do
        sleep 1
        seconds=$((seconds + 1))
    done
    : >"$WORK/overdue"
    kill -TERM $$
}

# Run a command for at most $3 seconds; if it fails, exit with $1 if it would fail again, else with $2.
attempt() {
    permanent=$1 transient=$2
    limit "$3" &
    watcher=$!
    shift 3
    : >"$log"
    { "$@"; echo $? >"$WORK/code"; } 2>&1 | tee -a "$log" &
    wait $!
    kill "$watcher"
    code=$(cat "$WORK/code")
    [ "$code" = 0 ] && return
    [ "$code" = 137 ] && echo "Error: buildah ended: signal: killed" >>"$log"
    tail -n 20 "$log" | tail -c 2048 >"$MESSAGE"
    error=$(grep -i '^ *error: ' "$log" | tail -n 1)
    case $error in
    *'building at STEP "'*'exit status '[0-9]*) exit "$permanent" ;; # the command failed, whatever it printed
    esac
    printf '%s\n' "${error:-$(tail -n 5 "$log")}" | grep -Eqi "$TRANSIENT" && exit "$transient"
    exit "$permanent"
}

# The first process of a container gets no signal that it does not ask for.
ended() {
    trap '' TERM
    kill -TERM 0
    [ -e "$WORK/overdue" ] || exit 143
    tail -n 20 "$log" | tail -c 2048 >"$MESSAGE"
    exit 67
}
trap ended TERM

umask 077
export TMPDIR="$WORK"
mkdir -p "$WORK/context"
authfile "$PULL_SECRET" >"$WORK/pull.json"

# Certificates beside those of the builder's image, for whatever is asked. What a registry alone needs lies in HOME.
export SSL_CERT_DIR="$TRUST:/etc/ssl/certs:/etc/pki/tls/certs"

registries='' policy=''
if [ -n "${CONTAINERS:-}" ]; then
    [ -e "$CONTAINERS/registries.conf" ] && registries=$CONTAINERS/registries.conf
    [ -e "$CONTAINERS/policy.json" ] && policy=$CONTAINERS/policy.json
fi

# An image's Pod may run as a user that cannot mount: vfs and chroot need no privileges.
builder() {
    # shellcheck disable=SC2086 - they are words, and their paths have no blanks
    buildah --storage-driver vfs ${stores:-} ${registries:+--registries-conf "$registries"} "$@"
}

# The store of the image $1 in the volume that builds share: of one digest, each architecture has an image of its own.
store_of() { printf '%s/%s-%s' "$CACHE" "${1##*@sha256:}" "$(uname -m)"; }

[ -n "${FILL:-}" ] && . "$CONTEXT/job_bases.sh"

cp -L "$CONTEXT"/* "$WORK/context/"
chmod -R u=rwX,go=rX "$WORK/context"
rm -f "$WORK/context/job_build.sh" "$WORK/context/job_bases.sh"

# Lent to RUN steps, as copies: programs such as dnf write there.
set --
for lent in "${ENTITLEMENT:-}:/etc/pki/entitlement" "${REPOSITORIES:-}:/etc/yum.repos.d" \
    "${PACKAGE_KEYS:-}:/etc/pki/rpm-gpg" "${RHSM:-/run/secrets/rhsm}:/run/secrets/rhsm"; do
    from=${lent%:*} at=${lent##*:}
    [ -n "$from" ] && [ -n "$(ls "$from" 2>/dev/null)" ] || continue
    copy=$(mktemp -d "$WORK/lent.XXXXXX")
    cp -rL "$from"/* "$copy/"
    chmod -R u=rwX,go=rX "$copy"
    set -- "$@" --volume "$copy:$at:rw"
done
for name in HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy; do
    eval "[ -n \"\${$name:-}\" ]" && set -- "$@" --build-arg "$name"
done

# Layers of the stores are not pulled, but the registry is asked all the same: may this build have the image?
for image in ${BASES:-}; do
    store=$(store_of "$image")/root
    [ -d "$store" ] && stores="${stores:-} --storage-opt vfs.imagestore=$store"
done
[ -n "${stores:-}" ] && set -- "$@" --pull-always

attempt 65 75 "$BUILD_SECONDS" builder bud --isolation chroot --layers=false --timestamp 0 --identity-label=false "$@" \
    --authfile "$WORK/pull.json" ${policy:+--signature-policy "$policy"} --tag "$IMAGE" \
    --file "$WORK/context/Containerfile" "$WORK/context"
# Not before: a token may have been renewed while the image was built.
authfile "$PUSH_SECRET" >"$WORK/push.json"
attempt 66 76 "$PUSH_SECONDS" builder push --authfile "$WORK/push.json" --digestfile "$WORK/digest" "$IMAGE"
cat "$WORK/digest" >"$MESSAGE"
