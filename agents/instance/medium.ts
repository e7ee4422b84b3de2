import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { readFile, readlink, realpath, stat } from 'node:fs/promises'
import { basename } from 'node:path'

/**
 * What the page cache of an instance's volume rests on, besides the kernel's boot: while all of it stays the same, what
 * was written and not synced is still there, and nobody put an older volume in its place.
 */
export interface Medium {
  /** The pod's UID (`REGENT_POD_UID`), '' outside of Kubernetes. */
  readonly podUid: string
  /**
   * The mounting of the file system: its folder in `/sys/fs` and that folder's inode, which is made anew by each mount.
   * '' where the file system has none.
   */
  readonly mounting: string
  /**
   * Id of the mount, and of the namespace in which it means something. Ids are used again after an unmount, so it is
   * looked at only where there is no `mounting`.
   */
  readonly mount: { readonly namespace: string; readonly id: string } | null
  /** Errors the file system has counted; null where it counts none. */
  readonly filesystemErrors: number | null
  /** Device and inode of the agent's own file. A copy of it is another file. */
  readonly file: string
}

/** The medium of a far server: no page cache of this machine holds anything of that server's. */
export const farMedium: Medium = { podUid: '', mounting: '', mount: null, filesystemErrors: null, file: 'far' }

export interface MediumPort {
  read(): Promise<Medium>
}

/**
 * Why what was written before may be gone from the page cache although no kernel was booted; null when nothing says so.
 * A container that is started again in its pod finds the same mounting, in a mount namespace of its own.
 */
export function whyCacheIsLost(before: Medium | null, now: Medium): Sentence | null {
  if (before === null) return null
  if (isAnotherPod(before, now)) return say`this instance runs in another pod than before`
  if (wasMountedAnew(before, now)) return say`the volume was mounted anew`
  if (before.file !== now.file) return say`the volume was put in place from a copy`
  const errors = (now.filesystemErrors ?? 0) - (before.filesystemErrors ?? now.filesystemErrors ?? 0)
  return errors > 0 ? say`the file system of the volume has counted ${counted(errors, 'error')} more` : null
}

function isAnotherPod(before: Medium, now: Medium): boolean {
  return before.podUid !== '' && now.podUid !== '' && before.podUid !== now.podUid
}

function wasMountedAnew(before: Medium, now: Medium): boolean {
  if (before.mounting !== '' || now.mounting !== '') return before.mounting !== now.mounting
  return (
    before.mount !== null &&
    now.mount !== null &&
    before.mount.namespace === now.mount.namespace &&
    before.mount.id !== now.mount.id
  )
}

/** The agent's `file`, which is there and never replaced, and its file system, as this machine's kernel shows them. */
export function realMedium(file: string, environment: NodeJS.ProcessEnv): MediumPort {
  return {
    async read() {
      const path = await realpath(file)
      const { dev, ino } = await stat(path, { bigint: true })
      const found = mountOf(await readFile('/proc/self/mountinfo', 'utf8'), path)
      const folder = found && (await sysFolder(found))
      const errors = folder ? await readFile(`${folder}/errors_count`, 'utf8').catch(missing) : undefined
      return {
        podUid: environment['REGENT_POD_UID'] ?? '',
        mounting: folder ? `${folder}:${(await stat(folder)).ino}` : '',
        mount: found ? { namespace: await readlink('/proc/self/ns/mnt'), id: found.id } : null,
        filesystemErrors: errors === undefined ? null : Number(errors),
        file: `${dev}:${ino}`,
      }
    },
  }
}

interface Mount {
  readonly id: string
  readonly device: string
  readonly type: string
}

/**
 * The mount that `path` lies on: the last of those with the longest mount point above it. Format:
 * proc_pid_mountinfo(5).
 */
export function mountOf(mountinfo: string, path: string): Mount | undefined {
  let found: (Mount & { readonly point: string }) | undefined
  for (const line of mountinfo.split('\n')) {
    const mount = mountIn(line)
    if (isAbove(mount.point, path) && mount.point.length >= (found?.point.length ?? 0)) found = mount
  }
  return found && { id: found.id, device: found.device, type: found.type }
}

function mountIn(line: string): Mount & { readonly point: string } {
  const [left = '', right = ''] = line.split(' - ')
  const [id = '', , device = '', , escaped = ''] = left.split(' ')
  const [type = ''] = right.split(' ')
  const point = escaped.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
  return { id, device, type, point }
}

function isAbove(point: string, path: string): boolean {
  return point !== '' && (path === point || path.startsWith(point === '/' ? '/' : `${point}/`))
}

/** `/sys/fs/ext4/sda1`; undefined for what has no block device or no folder there. */
async function sysFolder({ device, type }: Mount): Promise<string | undefined> {
  const link = await readlink(`/sys/dev/block/${device}`).catch(missing)
  if (link === undefined) return undefined
  const folder = `/sys/fs/${type}/${basename(link)}`
  return (await stat(folder).catch(missing)) && folder
}

/** Not there, or not shown to this container. */
function missing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOENT' && code !== 'EACCES' && code !== 'EPERM') throw error
  return undefined
}
