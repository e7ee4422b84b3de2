import { join } from 'node:path'
import { volumeLayout } from '../instance/volume-layout.ts'

/** Files of a throw-away server beside its data: names no longer than those of the instance's own mysqld. */
export interface ThrowAwayLayout {
  readonly socket: string
  readonly serverPidFile: string
  readonly serverConfig: string
  readonly accountsFile: string
  readonly errorLog: string
}

export function throwAwayLayout(volume: string): ThrowAwayLayout {
  const { runDir } = volumeLayout(volume)
  return {
    // A socket's path may have 107 bytes.
    socket: join(runDir, 'spare.sock'),
    serverPidFile: join(runDir, 'spare.pid'),
    serverConfig: join(runDir, 'spare.cnf'),
    accountsFile: join(runDir, 'spare.sql'),
    errorLog: join(runDir, 'spare.log'),
  }
}
