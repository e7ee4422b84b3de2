import { isTooOld } from '#common/mysql/mysql-version.ts'

/** A version as far as a tag names it. */
type NamedVersion = readonly [major: number, minor: number | undefined, patch: number | undefined]

const host = '(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?|\\[[0-9a-fA-F:]{2,39}\\])(?::[0-9]{1,5})?'
const part = '[a-z0-9]+(?:(?:[.]|_{1,2}|-+)[a-z0-9]+)*'
const reference = new RegExp(
  `^(?:${host}/)?${part}(?:/${part})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z0-9+._-]{1,32}:[0-9a-fA-F]{32,128})?$`,
)

/** Whether a kubelet takes it as the name of an image: it says `InvalidImageName` of any other, for ever. */
export function isImageName(image: string): boolean {
  return image.length <= 512 && reference.test(image)
}

/** The tag of an image, '' where it has none. A port of the registry is no tag. */
function tagOf(image: string): string {
  const [reference = ''] = image.split('@')
  return /:([^:/]+)$/.exec(reference)?.[1] ?? ''
}

/** Whether the text names always the same image: by digest, or by a tag that is not moved as a habit. */
export function isPinned(image: string): boolean {
  return image.includes('@') || !['', 'latest'].includes(tagOf(image))
}

/**
 * The version of MySQL in a tag such as `8.0.36-debian`; undefined where the tag says nothing of that kind, as
 * `production`.
 */
function versionIn(image: string): NamedVersion | undefined {
  const [, major, minor, patch] = /^v?([589])(?:\.(\d{1,2})(?:\.(\d{1,3}))?)?(?=$|[-_+])/.exec(tagOf(image)) ?? []
  const number = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
  return major === undefined ? undefined : [Number(major), number(minor), number(patch)]
}

/**
 * What a tag leaves open is not held against it: `mysql:8.0` is a new one these days, and the agent asks the program
 * itself.
 */
export function namesTooOld(image: string): boolean {
  return isTooOld(versionIn(image) ?? [])
}

/** Whether the tag is of an older series: mysqld does not start on data that a newer one has written. */
export function isDowngrade(from: string, to: string): boolean {
  const [a, b] = [versionIn(from), versionIn(to)]
  if (a === undefined || b === undefined) return false
  return b[0] < a[0] || (b[0] === a[0] && a[1] !== undefined && b[1] !== undefined && b[1] < a[1])
}
