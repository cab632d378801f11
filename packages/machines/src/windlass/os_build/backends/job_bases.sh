# Unpacks the base images of a build into a volume that builds share. Sourced by job_build.sh in the first container of a
# Pod, which runs nothing of the user's; the container that does has the volume read-only. So no build can change what
# another one begins with.
#
# Each image is a store of its own, named by its digest, and appears whole or not at all. This always ends well: a build
# that finds no store pulls the image by itself, and tells what is wrong.

: "${BASES:?}" "${CACHE:?}"
KEPT='14 days ago'

say() { printf 'bases: %s\n' "$*" >&2; }

# Files of an image belong to users whom only a user namespace can be.
discard() { rm -rf "$1" 2>/dev/null || buildah unshare rm -rf "$1"; }

pull() {
    builder --root "$2/root" --runroot "$WORK/run" pull --quiet --policy always --authfile "$WORK/pull.json" \
        ${policy:+--signature-policy "$policy"} "$1" >/dev/null
}

# At the deadline, and when the Pod is deleted. What is half done is removed by the next one.
trap 'trap "" TERM; kill -TERM 0; exit 0' TERM

exec 9>"$CACHE/lock" || exit 0
command -v flock >/dev/null || { say "the builder's image has no flock: nothing is shared"; exit 0; }
limit "$BUILD_SECONDS" 9>&- &
watcher=$!
# One at a time: who waits for the same image must not pull it, too.
flock 9 &
wait $! || { say "the volume cannot be locked: nothing is shared"; kill "$watcher"; exit 0; }
for left in "$CACHE"/new.*; do
    [ -e "$left" ] && discard "$left"
done
for image in $BASES; do
    store=$(store_of "$image")
    if [ ! -d "$store" ]; then
        touch -d "$KEPT" "$CACHE/kept" 2>/dev/null
        for used in "$CACHE"/*/used; do
            [ "$used" -ot "$CACHE/kept" ] && discard "${used%/used}"
        done
        new=$(mktemp -d "$CACHE/new.XXXXXX") || break
        say "pulls $image"
        pull "$image" "$new" &
        if wait $! && mv "$new" "$store"; then
            say "has $image"
        else
            say "$image could not be pulled: the build tries it itself"
            discard "$new"
            continue
        fi
    fi
    touch "$store/used"
done
kill "$watcher"
exit 0
