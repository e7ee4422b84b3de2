import { createLogger, type Logger } from '#common/log/logger.ts'
import type { KubernetesManagerOptions } from './schema.ts'

/** The manager's log as its options want it. Throws `REGENT_BAD_FILE` where the file cannot be opened. */
export function managerLogger({ level, pretty, file, maxBytes, maxFiles }: KubernetesManagerOptions['log']): Logger {
  return createLogger({
    level,
    pretty,
    name: 'manager',
    ...(file === undefined ? {} : { file: { path: file, maxBytes, maxFiles } }),
  })
}
