/** The pid of a process that leads a group; undefined where nothing could be started. */
type Leader = number | undefined

/** Ends all processes of a group; a group that is gone already is no error. */
export function killGroup(leader: Leader): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
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
