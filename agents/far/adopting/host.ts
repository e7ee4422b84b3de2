import { realWorld } from '#common/ports/real-world.ts'
import { describeError } from '#common/errors/errors.ts'
import { SshShell } from '#agents/far/ssh.ts'
import type { FarPlaces, FarSsh } from '#agents/instance/config.ts'

/** What an agent does on a host, tried without a change there. `$1` data folder, `$2` index of the binlogs */
const tryScript = `
for tool in tail head cat cut grep sort stat truncate sha256sum od df; do
  command -v "$tool" > /dev/null || { echo "$tool is not there" >&2; exit 1; }
done
[ -r "$2" ] || { echo "$2 cannot be read by user $(id -un)" >&2; exit 1; }
[ -w "$1" ] || { echo "user $(id -un) may not write in $1" >&2; exit 1; }`

/** What keeps an agent from working on a host over SSH; null for nothing. */
export async function whyNoHost(host: string, ssh: FarSsh, places: FarPlaces): Promise<string | null> {
  const shell = new SshShell(host, ssh, realWorld)
  try {
    await shell.run(tryScript, [places.dataDir, places.binlogIndex])
    return null
  } catch (error) {
    return describeError(shell.failure ?? error)
  } finally {
    shell.close()
  }
}
