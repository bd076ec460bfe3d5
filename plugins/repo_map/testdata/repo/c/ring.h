#ifndef RING_H
#define RING_H
#define RING_SIZE 64

typedef struct ring {
	char data[RING_SIZE];
} ring_t;

typedef unsigned int index_t;

int ring_put(struct ring *r, char c);
#endif
