import { type ClusterRecord } from '../../failover/protocol/record.ts'
import { instanceOf, ordinalOf } from '../../topology/snapshot/member.ts'
import { type SentOrder } from './model-agent.ts'
import { type Letter } from './model-manager.ts'

export function describeRecord({
  epoch,
  revision,
  primary,
  syncSet,
  leaving,
  acks,
  acksWanted,
  intent,
}: ClusterRecord): string {
  const set = (members: ClusterRecord['syncSet']) =>
    `{${members.map((member) => ordinalOf(instanceOf(member))).join(',')}}`
  const more = [
    leaving.length > 0 ? `leaving ${set(leaving)}` : '',
    acksWanted === acks ? '' : `k wanted ${acksWanted}`,
    intent ? `intent ${intent.kind} ${instanceOf(intent.candidate)} by ${intent.by}` : '',
  ]
  return [
    `epoch ${epoch} rev ${revision} P=${ordinalOf(instanceOf(primary))} S=${set(syncSet)} k=${acks}`,
    ...more.filter((part) => part !== ''),
  ].join(' ')
}

export function describeLetter({ from, to, sent }: Letter): string {
  return `manager ${from.number} → ${to}: ${describeOrder(sent)} epoch ${sent.order.epoch} rev ${sent.order.revision}`
}

function describeOrder(sent: SentOrder): string {
  if (sent.kind !== 'assign') return sent.kind
  const { order } = sent
  return order.role === 'primary'
    ? `be primary, count [${order.counted.join(',')}], let in [${order.catchingUp.join(',')}], k=${order.acks}${order.mayRestart ? ', may restart' : ''}`
    : `follow ${order.source.instance}${order.counted ? ' counted' : ''}`
}
