const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

export type Paint = Readonly<Record<keyof typeof codes, (text: string) => string>>

/** What a painted text has before and behind it: odd places of a text that is split at that. */
export const painted = new RegExp(`(\u001b\\[(?:${[...new Set(Object.values(codes).flat())].join('|')})m)`)

/** Colours for a terminal, or none at all. */
export function paintFor(colour: boolean): Paint {
  const painter = (name: keyof typeof codes) => (text: string) =>
    colour ? `\u001b[${codes[name][0]}m${text}\u001b[${codes[name][1]}m` : text
  return {
    bold: painter('bold'),
    dim: painter('dim'),
    red: painter('red'),
    green: painter('green'),
    yellow: painter('yellow'),
  }
}
