import { join } from 'node:path'

/** Where everything of one instance lies on its volume. */
export interface VolumeLayout {
  readonly volume: string
  readonly dataDir: string
  /** A copy of another instance grows here until it takes the place of `dataDir`. */
  readonly seedDir: string
  /** Which parts of a backup are in `seedDir`, as far as an agent may go on with those. */
  readonly seedJournal: string
  /** What a copy took the place of, while that is removed. */
  readonly oldDir: string
  /** What a copy took the place of, until that is proven. */
  readonly besideDir: string
  /** A copy of this instance, for as long as it is streamed to somebody. */
  readonly streamDir: string
  /** A backup is restored here to see that it can be. */
  readonly rehearsalDir: string
  readonly archiveDir: string
  readonly agentDir: string
  /** What the agent promised and acts by. */
  readonly stateFile: string
  /** Held by the agent that runs. */
  readonly lockFile: string
  readonly runDir: string
  readonly socket: string
  /** Written by mysqld once its interfaces are open. */
  readonly serverPidFile: string
  /** Written by the agent: which process is its mysqld. */
  readonly pidFile: string
  readonly serverConfig: string
  /** Statements for accounts, there only while a mysqld starts that runs them. */
  readonly accountsFile: string
  /** Which settings mysqld took last, as a digest. */
  readonly settingsAccepted: string
  /** With which settings mysqld came up last, as people gave them. */
  readonly settingsGood: string
  readonly errorLog: string
  /** Where the newest part of the error log begins. */
  readonly errorLogMark: string
}

/** The layout of a volume; its path is absolute. */
export function volumeLayout(volume: string): VolumeLayout {
  const runDir = join(volume, 'run')
  const agentDir = join(volume, 'agent')
  return {
    volume,
    dataDir: join(volume, 'data'),
    seedDir: join(volume, 'data.seed'),
    seedJournal: join(volume, 'data.seed.parts'),
    oldDir: join(volume, 'data.old'),
    besideDir: join(volume, 'data.beside'),
    streamDir: join(volume, 'data.stream'),
    rehearsalDir: join(volume, 'data.rehearsal'),
    archiveDir: join(volume, 'archive'),
    agentDir,
    stateFile: join(agentDir, 'state'),
    lockFile: join(agentDir, 'lock'),
    runDir,
    socket: join(runDir, 'mysqld.sock'),
    serverPidFile: join(runDir, 'mysqld.pid'),
    pidFile: join(runDir, 'mysqld.json'),
    serverConfig: join(runDir, 'my.cnf'),
    accountsFile: join(runDir, 'accounts.sql'),
    settingsAccepted: join(agentDir, 'settings-accepted'),
    settingsGood: join(agentDir, 'settings-good.json'),
    errorLog: join(runDir, 'mysqld-error.log'),
    errorLogMark: join(agentDir, 'error-log-mark'),
  }
}
