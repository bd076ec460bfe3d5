/// A queue.
pub struct Queue<T> {
    items: Vec<T>,
}

impl<T> Queue<T> {
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    fn grow(&mut self) {}
}

pub(crate) const DEPTH: usize = 4;

pub trait Drain {
    fn drain(&mut self) -> usize;
}

macro_rules! queue {
    () => {};
}

pub async fn run(q: Queue<u8>) {}
