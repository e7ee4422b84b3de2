import { duration, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Router } from '../router.ts'

/** The router looks at HAProxy each second. A router whose HAProxy is not led for so long is not ready. */
const unledMs = 5_000
/** The time for which a machine is asked in vain before the machine counts as gone. */
const unheardMs = 6_000

/**
 * Whether Kubernetes leads new sessions to this router. A router that hears nobody at all is cut off, and other routers
 * may not be. One voice is enough: a manager outage alone, or an outage of all agents alone, takes no router away.
 */
export function readinessOf(router: Pick<Router, 'state' | 'ledAgoMs' | 'unheardForMs'>): {
  readonly status: number
  readonly body: string
} {
  const why = whyUnready(router.ledAgoMs(), router.unheardForMs())
  return why === '' ? { status: 200, body: `${router.state.sentence}\n` } : { status: 503, body: `${String(why)}\n` }
}

function whyUnready(ledAgoMs: number, unheardForMs: number): Sentence | '' {
  if (ledAgoMs === Infinity) return say`HAProxy is not led yet`
  if (ledAgoMs >= unledMs) return say`HAProxy is not led for ${duration(ledAgoMs)}`
  if (unheardForMs === Infinity) return say`no manager and no agent was heard yet`
  if (unheardForMs < unheardMs) return ''
  return say`neither a manager nor an agent is heard for ${duration(unheardForMs)}: this router is cut off`
}
