import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { relayLogName } from '#agents/ports/throw-away.ts'

/** Removes all relay logs in a data folder, those of a server and those of this module. */
export async function removeRelayLogs(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(`${relayLogName}-`) || name.startsWith(`${relayLogName}.`)) await rm(join(folder, name))
}
