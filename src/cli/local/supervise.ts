import { flushCompileCache } from 'node:module'
import { createLogger } from '#common/log/logger.ts'
import { inheritClaim } from '#local/addresses/addresses.ts'
import { readCluster } from '#local/folder/cluster-file.ts'
import { frugalNode } from '#common/process/frugal-environment.ts'
import { regentCommand } from '#local/supervisor/regent-command.ts'
import { Supervisor } from '#local/supervisor/supervisor.ts'

/**
 * Runs until it is told to shut down, or by SIGTERM. An error nobody caught ends it; what it ran goes on and is found
 * by the next one.
 */
export async function supervise(dir: string): Promise<void> {
  // A person who runs this by hand on another folder is told so, not a log.
  await readCluster(dir)
  const log = createLogger({ level: 'info', name: 'supervisor' })
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error')
    process.exit(1)
  })
  flushCompileCache()
  try {
    const claim = await inheritClaim()
    const supervisor = await Supervisor.start({
      dir,
      claim,
      manager: regentCommand(),
      agent: regentCommand(frugalNode),
      log: (sentence) => log.info(sentence),
    })
    process.on('SIGTERM', () => void supervisor.shutdown())
    await supervisor.ended
    log.info('ended')
    process.exit(0)
  } catch (error) {
    log.fatal({ err: error }, 'the supervisor cannot start')
    process.exit(1)
  }
}
