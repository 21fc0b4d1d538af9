/** A binary heap of plan positions: the next job by plan order in logarithmic time, however many wait. */
export interface MinHeap {
  push(value: number): void;
  pop(): number | undefined;
  peek(): number | undefined;
  readonly size: number;
}

export function createMinHeap(): MinHeap {
  const items: number[] = [];
  const swap = (a: number, b: number): void => {
    const held = items[a] as number;
    items[a] = items[b] as number;
    items[b] = held;
  };
  return {
    push(value) {
      items.push(value);
      for (let at = items.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if ((items[parent] as number) <= (items[at] as number)) break;
        swap(parent, at);
        at = parent;
      }
    },
    pop() {
      const top = items[0];
      const last = items.pop();
      if (top === undefined || last === undefined || items.length === 0) return top;
      items[0] = last;
      for (let at = 0; ; ) {
        const left = 2 * at + 1;
        const right = left + 1;
        let least = at;
        if (left < items.length && (items[left] as number) < (items[least] as number)) least = left;
        if (right < items.length && (items[right] as number) < (items[least] as number)) least = right;
        if (least === at) return top;
        swap(at, least);
        at = least;
      }
    },
    peek: () => items[0],
    get size() {
      return items.length;
    },
  };
}
