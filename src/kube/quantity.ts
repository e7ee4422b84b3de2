const factors: Readonly<Record<string, number>> = { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 }

/** A `resource.Quantity` as a number, good enough to compare sizes of volumes; NaN where it is none. */
export function quantityOf(text: string): number {
  const [, figures, suffix = ''] = /^([0-9]+(?:\.[0-9]+)?)([A-Za-z]{0,2})$/.exec(text) ?? []
  return figures === undefined ? NaN : Number(figures) * (factors[suffix] ?? NaN)
}
