/** Where the demo shows itself: lines that stay, and on a terminal a live picture below them. */
export interface Screen {
  readonly colour: boolean
  /** Prints lines that stay. */
  print(...lines: readonly string[]): void
  /**
   * Shows these lines in place of the last ones given here; on something that is no terminal, `summary` as a line when
   * it changed.
   */
  live(lines: readonly string[], summary: string): void
  /** Removes the live picture. */
  clear(): void
}

export function screenFor(stream: NodeJS.WriteStream, env: Readonly<Record<string, string | undefined>>): Screen {
  const colour = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  return stream.isTTY === true && env['TERM'] !== 'dumb' ? terminalScreen(stream, colour) : plainScreen(stream, colour)
}

function plainScreen(stream: NodeJS.WriteStream, colour: boolean): Screen {
  let last = ''
  return {
    colour,
    print: (...lines) => lines.forEach((line) => stream.write(`${line}\n`)),
    live: (_lines, summary) => {
      if (summary !== last) stream.write(`    · ${summary}\n`)
      last = summary
    },
    clear: () => undefined,
  }
}

/** Long lines are cut rather than wrapped, so that the height of the picture is the number of its lines. */
const noWrap = '\u001b[?7l'
const wrap = '\u001b[?7h'

function terminalScreen(stream: NodeJS.WriteStream, colour: boolean): Screen {
  let shown: readonly string[] = []
  const draw = (above: readonly string[], lines: readonly string[]) => {
    const erase = shown.length === 0 ? '' : `\u001b[${shown.length}A\u001b[0J`
    stream.write([erase, noWrap, ...[...above, ...lines].map((line) => `${line}\n`), wrap].join(''))
    shown = lines
  }
  return {
    colour,
    print: (...lines) => draw(lines, shown),
    live: (lines) => {
      const fitting = lines.slice(0, Math.max(1, stream.rows - 2))
      if (fitting.join('\n') !== shown.join('\n')) draw([], fitting)
    },
    clear: () => draw([], []),
  }
}
