import type { Header } from 'tar-stream'

/** What an entry of a stream becomes below the folder that is filled. */
export interface Entry {
  readonly kind: 'file' | 'directory'
  /** Relative, without `.` and `..`; '' for the folder itself. */
  readonly path: string
}

/** A file system allows no longer name. */
const longestSegment = 255

/**
 * Where an entry belongs. Throws for everything that could write outside the folder, or that no data folder of MySQL
 * has: absolute names, `..`, links, devices, pipes.
 */
export function entryOf({ name, type }: Pick<Header, 'name' | 'type'>): Entry {
  const shown = JSON.stringify(name.slice(0, 100))
  if (type !== 'file' && type !== 'directory')
    throw new Error(
      `${shown} in the stream is a ${type ?? 'thing without a known type'}; allowed are files and folders`,
    )
  if (name.startsWith('/'))
    throw new Error(`${shown} in the stream is an absolute name; allowed are names in the folder`)
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.')
  const bad = segments.find(isRefused)
  if (bad !== undefined)
    throw new Error(
      bad === '..'
        ? `${shown} in the stream leads out of the folder`
        : `${shown} in the stream has a part that no file is called: a control character, or more than ${longestSegment} bytes`,
    )
  if (type === 'file' && (segments.length === 0 || name.endsWith('/')))
    throw new Error(`${shown} in the stream is a file without a name`)
  return { kind: type, path: segments.join('/') }
}

function isRefused(segment: string): boolean {
  return segment === '..' || /[\x00-\x1f\x7f]/.test(segment) || Buffer.byteLength(segment) > longestSegment
}
