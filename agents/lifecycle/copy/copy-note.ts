/** The last entry of a copy stream: what the copy is, and how much of it there must be. */
export interface CopyNote {
  readonly version: 1
  /** The version of the server that was copied. */
  readonly mysql: string
  readonly serverUuid: string
  /** Instance and cluster that the copy was made of. */
  readonly instance: string
  readonly cluster: string
  /** What the server had executed before the copy began: the copy holds at least this. */
  readonly atLeast: string
  /** What the server had executed when the copy was whole: the copy holds no more than this. */
  readonly atMost: string
  /** Number of the entries before the note. */
  readonly files: number
  readonly bytes: number
}

/** Name of the entry; a data folder has no such file of its own. */
export const copyNoteName = 'regent-copy.json'

/** A note is small. What is longer is none. */
export const longestCopyNote = 1_048_576

/** Throws where the text is no note that this version understands. */
export function parseCopyNote(text: string): CopyNote {
  const note: unknown = JSON.parse(text)
  if (typeof note !== 'object' || note === null || !isNote(note))
    throw new Error(
      `${copyNoteName}, the last file of the stream, is not understood: another version of Regent wrote it`,
    )
  return note
}

function isNote(note: object): note is CopyNote {
  const { version, files, bytes } = note as Partial<CopyNote>
  return version === 1 && Number.isSafeInteger(files) && Number.isSafeInteger(bytes)
}
