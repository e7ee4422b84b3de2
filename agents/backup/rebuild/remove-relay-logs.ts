import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { relayLogName } from '#agents/ports/throw-away.ts'

/** Removes all that a server and this module left of relay logs in a data folder. */
export async function removeRelayLogs(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(`${relayLogName}-`) || name.startsWith(`${relayLogName}.`)) await rm(join(folder, name))
}
