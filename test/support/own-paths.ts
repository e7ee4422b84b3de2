import { spawnSync } from 'node:child_process'

const isolation = ['unshare', '--map-root-user', '--mount']

/** A root of its own: everything of the machine's but `/run`, and the folders that are given, each at its path. */
const script = `
set -e
root=$1
shift
mount -t tmpfs none "$root"
for entry in /*; do
  if [ -L "$entry" ]; then ln -s "$(readlink "$entry")" "$root$entry"
  elif [ "$entry" = /run ]; then mkdir "$root/run"
  elif [ -d "$entry" ]; then mkdir "$root$entry" && mount --rbind "$entry" "$root$entry"
  fi
done
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$2" "$root$1"
  shift 2
done
shift
exec chroot "$root" "$@"
`

/** Whether this user may have a mount namespace: root may, others where the kernel lets them make user namespaces. */
export function mayHaveOwnPaths(): boolean {
  return spawnSync(isolation[0] ?? '', [...isolation.slice(1), 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0
}

export interface OwnPaths {
  /** An empty folder, which the machine itself goes on seeing empty. */
  readonly root: string
  /** Folders by the absolute path that one process, and what it starts, finds them at. */
  readonly folders: Readonly<Record<string, string>>
}

/**
 * What goes before a command so that paths are there which the machine does not have, in a mount namespace that ends
 * with the command. The command keeps the process id. `/run` has nothing but what is given.
 */
export function withOwnPaths({ root, folders }: OwnPaths): readonly string[] {
  return [...isolation, 'sh', '-c', script, 'sh', root, ...Object.entries(folders).flat(), '--']
}
