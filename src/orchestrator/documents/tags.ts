/** `name` or `name=value`. */
export interface Tag {
  readonly name: string
  readonly value: string
  /** Only the name was said: any value is meant where tags are looked for. */
  readonly isBare: boolean
  /** `~name` or `!name`: those without. */
  readonly isNot: boolean
}

/** Undefined for what is no tag. */
export function parseTag(text: string): Tag | undefined {
  const [, not = '', name = '', rest] =
    /^([~!]?)([\w.:/@-]{1,100})(?:=([^\u0000-\u001f\u007f]{0,200}))?$/.exec(text) ?? []
  return name === '' ? undefined : { name, value: rest ?? '', isBare: rest === undefined, isNot: not !== '' }
}

/** A list with commas, all of which are meant. Undefined where one of them is no tag. */
export function parseTags(text: string): readonly Tag[] | undefined {
  const tags = text.split(',').map((part) => parseTag(part.trim()))
  return tags.every((tag) => tag !== undefined) ? tags : undefined
}

export function hasTags(tags: Readonly<Record<string, string>>, wanted: readonly Tag[]): boolean {
  return wanted.every(({ name, value, isBare, isNot }) => {
    const has = Object.hasOwn(tags, name) && (isBare || tags[name] === value)
    return has !== isNot
  })
}
