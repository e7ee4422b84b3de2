/** The pid of a process that leads a group; undefined where nothing could be started. */
type Leader = number | undefined

/**
 * Ends all processes of a group; a group that is gone already is no trouble.
 * @returns why none could be ended, as where sudo made another user of them; '' otherwise. Who calls is a timer: what
 *   is thrown there ends this process
 */
export function killGroup(leader: Leader): string {
  if (leader === undefined) return ''
  try {
    process.kill(-leader, 'SIGKILL')
    return ''
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ESRCH' ? '' : message
  }
}

/** A process of the group runs still. */
export function isGroupAlive(leader: Leader): boolean {
  try {
    return leader !== undefined && process.kill(-leader, 0)
  } catch {
    return false
  }
}

/** Why a program could not be started, in words. */
export function whyNotStarted(file: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return `${file} does not exist, or its interpreter does not`
  return code === 'EACCES' ? `${file} may not be executed` : message
}
