import { realWorld } from '#common/ports/real-world.ts'
import { describeError } from '#common/errors/errors.ts'
import { tryScript } from '#agents/far/scripts.ts'
import { SshShell } from '#agents/far/ssh.ts'
import type { FarPlaces, FarSsh } from '#agents/instance/config.ts'

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
