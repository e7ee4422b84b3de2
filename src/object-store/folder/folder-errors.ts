import { described, RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'

const sentences: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full: make space, or let fewer backups be kept',
  EDQUOT: 'the quota of this user on that disk is used up: raise the quota, or let fewer backups be kept',
  EFBIG: 'the file system takes no file as large as this object',
  EACCES: 'this process may not do that there: give its user the folder',
  EROFS: 'the disk is mounted for reading only',
  EIO: 'the disk could not be read or written: look at the disk',
  ESTALE: 'the folder was mounted anew elsewhere: mount the folder again',
  ENOENT: 'there is no such folder: make the folder, or mount the disk that has it',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EISDIR: 'a folder has that name',
  ELOOP: 'a symbolic link has that name, and no link is followed',
  ENAMETOOLONG: 'the file system takes no name as long as this one',
  // link(2)
  EPERM: 'the file system refused: objects that must not be there yet need hard links, which not every file system has',
  ENOTSUP:
    'the file system refused: objects that must not be there yet need hard links, which not every file system has',
  EOPNOTSUPP:
    'the file system refused: objects that must not be there yet need hard links, which not every file system has',
}

/** The system's code of an error, or ''. */
export function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? ''
}

/** `REGENT_BACKUP_STORE` about a folder; an error that is ours already stays as it is. */
export function folderError(address: string, what: Sayable, error: unknown): RegentError {
  if (error instanceof RegentError) return error
  const reason = reasonOf(error)
  const said = sentences[reason]
  const why = said === undefined ? say`${described(error)}` : say`${reported(said)} (${reason})`
  return new RegentError('REGENT_BACKUP_STORE', say`Store of backups ${address}: ${what}: ${why}.`, { cause: error })
}
